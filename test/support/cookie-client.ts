/** Handles cookies as a browser does: keeps the cookies that it is given, and sends them with the origin of its page. */
import type { Answer } from './request.ts'

export class CookieClient {
  readonly #url: string
  readonly cookies = new Map<string, string>()

  constructor(url: string) {
    this.#url = url
  }

  get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  async fetch(path: string, { headers, ...options }: RequestInit = {}): Promise<Response> {
    const answer = await fetch(this.#url + path, {
      redirect: 'manual',
      headers: { cookie: this.cookie, ...headers },
      ...options,
    })
    for (const cookie of answer.headers.getSetCookie()) this.#keep(cookie)
    return answer
  }

  /** What a script of the dashboard sends. */
  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const answer = await this.fetch(path, {
      method,
      headers: {
        origin: this.#url,
        'sec-fetch-site': 'same-origin',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
  }

  #keep(cookie: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
    if (/; Max-Age=0\b/.test(cookie)) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }
}
