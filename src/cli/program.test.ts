import { expect, test } from 'vitest'
import { createProgram } from './program.ts'

test('a command or alias has the same help whether all commands are loaded or only a few', async () => {
  const all = (await createProgram([], '1.2.3')).commands

  for (const command of all)
    for (const word of [command.name(), ...command.aliases()]) {
      const { commands } = await createProgram([word], '1.2.3')
      const [same] = commands.filter((declared) => declared.name() === command.name())
      expect([word, same?.helpInformation()]).toEqual([word, command.helpInformation()])
      expect(commands.length).toBeLessThan(4)
    }
})

test('an unknown word loads all commands, so that help can suggest one', async () => {
  const all = (await createProgram([], '1.2.3')).commands.map((command) => command.name())

  for (const word of ['help', '--help', 'unpause', 'constructor'])
    expect((await createProgram([word], '1.2.3')).commands.map((command) => command.name())).toEqual(all)
})
