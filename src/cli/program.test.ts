import { expect, test } from 'vitest'
import { createProgram } from './program.ts'

test('every command and alias declares the same as when all are declared', async () => {
  const all = (await createProgram([], '1.2.3')).commands

  for (const command of all)
    for (const word of [command.name(), ...command.aliases()]) {
      const { commands } = await createProgram([word], '1.2.3')
      const [same] = commands.filter((declared) => declared.name() === command.name())
      expect([word, same?.helpInformation()]).toEqual([word, command.helpInformation()])
      expect(commands.length).toBeLessThan(4)
    }
})

test('a word that is no command declares all, so that help can name what was meant', async () => {
  const all = (await createProgram([], '1.2.3')).commands.map((command) => command.name())

  for (const word of ['help', '--help', 'unpause', 'constructor'])
    expect((await createProgram([word], '1.2.3')).commands.map((command) => command.name())).toEqual(all)
})
