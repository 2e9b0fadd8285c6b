import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_ENTRIES, parseCrontab } from './parse-crontab.ts'

const lines = (...text: string[]) => text.join('\n')
const read = (...text: string[]) => parseCrontab(lines(...text))
const commandsOf = (...text: string[]) =>
  read(...text).entries.map(({ command, stdin }) => (stdin === null ? command : [command, stdin]))

/** As Debian installs it. */
const DEBIAN = `# /etc/crontab: system-wide crontab
# Unlike any other crontab you don't have to run the \`crontab'
# command to install the new version when you edit this file
# and files in /etc/cron.d. These files also have username fields,
# that none of the other crontabs do.

SHELL=/bin/sh
# You can also override PATH, but by default, newer versions inherit it from the environment
#PATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin

# Example of job definition:
# .---------------- minute (0 - 59)
# |  .------------- hour (0 - 23)
# |  |  .---------- day of month (1 - 31)
# |  |  |  .------- month (1 - 12) OR jan,feb,mar,apr ...
# |  |  |  |  .---- day of week (0 - 6) (Sunday=0 or 7) OR sun,mon,tue,wed,thu,fri,sat
# |  |  |  |  |
# *  *  *  *  * user-name command to be executed
17 *	* * *	root    cd / && run-parts --report /etc/cron.hourly
25 6	* * *	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
47 6	* * 7	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }
52 6	1 * *	root	test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.monthly; }
#
`

test('the crontab of a Debian system is read as one with a column of users', () => {
  const { isSystem, entries, problems, commentedOut } = parseCrontab(DEBIAN)

  expect({ isSystem, problems, commentedOut }).toEqual({ isSystem: true, problems: [], commentedOut: [] })
  expect(entries.map(({ writtenWhen, user }) => [writtenWhen, user])).toEqual([
    ['17 * * * *', 'root'],
    ['25 6 * * *', 'root'],
    ['47 6 * * 7', 'root'],
    ['52 6 1 * *', 'root'],
  ])
  expect(entries[0]).toMatchObject({
    line: 19,
    name: null,
    command: 'cd / && run-parts --report /etc/cron.hourly',
    variables: { SHELL: '/bin/sh' },
  })
})

test('a column of users is recognised by names of users, by its heading, or because the caller says so', () => {
  const users = new Set(['root', 'www-data'])
  const named = lines('* * * * * root /bin/a', '@daily www-data php /b.php')
  const own = lines('* * * * * root /bin/a', '@daily php /b.php')

  const isSystem = (text: string, options = {}) => parseCrontab(text, options).isSystem

  expect(isSystem(named, { users })).toBe(true)
  expect(isSystem(own, { users })).toBe(false)
  expect(isSystem(named)).toBe(false)
  expect(isSystem(named, { users, isSystem: false })).toBe(false)
  expect(isSystem(own, { isSystem: true })).toBe(true)
  expect(isSystem('', { users })).toBe(false)
  expect(isSystem(lines('# m h dom mon dow user\tcommand', '* * * * * me /bin/a'))).toBe(true)
})

test('variables hold for the lines below them, with quotes and spaces as cron takes them', () => {
  const { entries, problems } = read(
    'MAILTO = "ops@example.com"',
    "GREETING='  hello  '",
    'PATH=/usr/bin:$HOME/bin   ',
    '* * * * * first',
    '"QUOTED"=1',
    'MAILTO=',
    '* * * * * A=1 B=2 second',
    'not-a-name=1',
  )

  const [first, second] = entries
  expect(first?.variables).toEqual({
    MAILTO: 'ops@example.com',
    GREETING: '  hello  ',
    PATH: '/usr/bin:$HOME/bin',
  })
  expect(second).toMatchObject({ command: 'A=1 B=2 second', variables: { MAILTO: '', QUOTED: '1' } })
  expect(problems).toEqual([
    {
      line: 8,
      text: 'not-a-name=1',
      detail: "sets 'not-a-name'; a name consists of letters, digits and underscores",
    },
  ])
})

test('a comment right above a line names it, unless it is a heading, a drawing or a job', () => {
  const { entries, commentedOut } = read(
    '# m h  dom mon dow   command',
    '0 1 * * * unnamed',
    '# Nightly backup',
    '0 2 * * * backup',
    '# Far above',
    '',
    '0 3 * * * after-a-gap',
    '#######',
    '0 4 * * * below-a-drawing',
    '# Was too slow',
    '#0 5 * * * switched-off',
    '0 6 * * * below-a-job # no comment',
  )

  expect(entries.map(({ name }) => name)).toEqual([null, 'Nightly backup', null, null, null])
  expect(entries.at(-1)?.command).toBe('below-a-job # no comment')
  expect(commentedOut).toEqual([11])
})

test('a percent sign ends the command and is a line break in what follows, unless it is escaped', () => {
  expect(
    commandsOf(
      '* * * * * date +\\%F',
      '* * * * * mail -s Hi ada%Hello,%50\\% done',
      '* * * * * cat%',
      '* * * * * printf a\\nb%one%',
    ),
  ).toEqual(['date +%F', ['mail -s Hi ada', 'Hello,\n50% done\n'], ['cat', ''], ['printf a\\nb', 'one\n']])
})

test('aliases, names, steps and random values become cron expressions', () => {
  const { entries, problems } = read(
    '@daily a',
    '@every_minute a',
    '*/15 8-18/2 * jan,Feb MON-fri a',
    '0~30 ~ * * * a',
    '-5 4 * * sun a',
    '0 0 */1 * 1 a',
  )

  expect(problems).toEqual([])
  expect(entries.map(({ when }) => when.kind === 'cron' && when.expression)).toEqual([
    '@daily',
    '* * * * *',
    '*/15 8-18/2 * jan,Feb MON-fri',
    'H(0-30) H * * *',
    '5 4 * * sun',
    '0 0 * * 1',
  ])
})

test('a valid line that Belfry cannot schedule is unsupported, not a problem', () => {
  const { entries, problems } = read('@reboot a', '0 0 */2 * 1 a', '0 0 13 * */2 a', '0 0 13 * 5 a')

  expect(problems).toEqual([])
  expect(entries.map(({ when }) => when.kind)).toEqual(['unsupported', 'unsupported', 'unsupported', 'cron'])
  expect(entries[1]?.when).toMatchObject({ reason: expect.stringContaining('match both */2 and 1') })
})

test('each line that cron would refuse is reported with its problem', () => {
  const { entries, problems } = read(
    '61 25 * * * a',
    '* * * a',
    'hello world',
    '@dayly a',
    '22-2 * * * * a',
    '0 0 31 2 * a',
    '* * * * *',
    '5/10 * * * * a',
  )

  expect(entries).toEqual([])
  expect(problems.map(({ line, detail }) => `${line}: ${detail}`)).toEqual([
    '1: field 1 (minute) is 61; allowed 0–59 or H',
    '1: field 2 (hour) is 25; allowed 0–23 or H',
    expect.stringMatching(
      /^2: is not a job; a job has five fields or an alias such as @daily, followed by a command$/,
    ),
    expect.stringMatching(/^3: is not a job/),
    expect.stringMatching(/^4: "@dayly" is not an alias; use one of @yearly/),
    expect.stringMatching(/^5: field 1 \(minute\) is the backward range 22-2/),
    '6: never matches: none of its months has such a day',
    expect.stringMatching(/^7: is not a job/),
    '8: field 1 (minute) is "5/10"; a step needs a range, write 5-59/10',
  ])
})

test('a line of a system crontab without a user or a command is refused', () => {
  const { problems } = parseCrontab('* * * * * root', { isSystem: true })

  expect(problems[0]?.detail).toMatch(/followed by a user and a command$/)
})

test('a file from Windows with a byte order mark and no last line break is read', () => {
  expect(commandsOf('\ufeff* * * * * a\r\n* * * * * b')).toEqual(['a', 'b'])
})

test('more jobs than the limit are refused one by one', () => {
  const { entries, problems } = read(...Array.from({ length: MAX_ENTRIES + 2 }, () => '* * * * * a'))

  expect(entries).toHaveLength(MAX_ENTRIES)
  expect(problems.map(({ line }) => line)).toEqual([MAX_ENTRIES + 1, MAX_ENTRIES + 2])
})

test('no line is both a job and a problem, for any input', () => {
  const word = fc.constantFrom(
    '*',
    '*/5',
    '1-5',
    '61',
    '@daily',
    '@reboot',
    '#',
    'A=1',
    'root',
    '/bin/a',
    '%',
    '\\%',
    '\0',
    '"',
    '=',
  )
  const line = fc.array(word, { maxLength: 9 }).map((words) => words.join(' '))
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), fc.boolean(), (all, isSystem) => {
      const { entries, problems } = parseCrontab(all.join('\n'), { isSystem })
      const jobs = new Set(entries.map((entry) => entry.line))
      const wrong = new Set(problems.map((problem) => problem.line))
      expect(entries).toHaveLength(jobs.size)
      for (const at of jobs) expect(wrong.has(at)).toBe(false)
      for (const entry of entries) expect(entry.when.kind).not.toBe('wrong')
    }),
  )
})
