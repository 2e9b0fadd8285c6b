/** The ports that this process listens on. They are known only once it does. */
export class OwnPorts {
  readonly #ports = new Set<number>()

  add(port: number): void {
    this.#ports.add(port)
  }

  has(port: number): boolean {
    return this.#ports.has(port)
  }
}
