import type { Command } from 'commander'
import { addClientFlags, addYesFlag } from '../client/output.ts'

const HELP = `
A file is content that tasks use, such as a program. It is uploaded once and never changes.

Examples:
  belfry file upload backup.sh
  belfry file list
`

const UPLOAD_HELP = `
An upload that was interrupted continues where it stopped when the command is repeated. Content that
the project already has is not uploaded again.

Examples:
  belfry file upload backup.sh
  belfry file upload ./dist/report --name report-2.4 --field id
`

const LIST_HELP = `
Examples:
  belfry file list
  belfry file list --name backup.sh --json
`

const SHOW_HELP = `
Shows what a file is, how much of it was uploaded, and which tasks use it.

Examples:
  belfry file show backup.sh
  belfry file show 01a1ee01
`

const DELETE_HELP = `
A file that tasks use is not deleted. Files that no task uses are removed after 30 days.

Examples:
  belfry file delete backup.sh
  belfry file delete 01a1ee01 --yes
`

const DOWNLOAD_HELP = `
Writes the file into the current directory under its own name. The content is verified by its
SHA-256.

Examples:
  belfry file download backup.sh
  belfry file download backup.sh --output - | less
`

/** Commands for files that tasks use. */
export function fileCommand(program: Command): void {
  const group = program
    .command('file')
    .alias('files')
    .usage('<command> [options]')
    .description('Upload and manage the files that tasks use')
    .helpOption('-h, --help', 'Show help')
    .addHelpText('after', HELP)
  const upload = group
    .command('upload')
    .argument('<path>', 'File on this machine')
    .description('Upload a file')
    .option('--name <name>', 'Name of the file (default: its name on this machine)')
  addClientFlags(upload)
    .addHelpText('after', UPLOAD_HELP)
    .action(async (path, flags) => (await import('../handlers/files.ts')).uploadFile(path, flags))
  const list = group
    .command('list')
    .alias('ls')
    .description('List files, newest first')
    .option('--name <name>', 'Only files with this name')
    .option('--state <state>', 'Only files in this state: waiting, ready')
    .option('--limit <n>', 'Maximum number of results', '50')
  addClientFlags(list)
    .addHelpText('after', LIST_HELP)
    .action(async (flags) => (await import('../handlers/files.ts')).listFiles(flags))
  const show = group.command('show').argument('<file>', 'Id or name of the file')
  addClientFlags(show.description('Show a file and the tasks that use it'))
    .addHelpText('after', SHOW_HELP)
    .action(async (file, flags) => (await import('../handlers/files.ts')).showFile(file, flags))
  const remove = group.command('delete').alias('rm').argument('<file>', 'Id or name of the file')
  addClientFlags(addYesFlag(remove.description('Delete a file that no task uses')))
    .addHelpText('after', DELETE_HELP)
    .action(async (file, flags) => (await import('../handlers/files.ts')).deleteFile(file, flags))
  const download = group
    .command('download')
    .argument('<file>', 'Id or name of the file')
    .description('Download a file')
    .option('-o, --output <path>', 'Where to write it; - for standard output')
    .option('--force', 'Replace an existing file')
  addClientFlags(download)
    .addHelpText('after', DOWNLOAD_HELP)
    .action(async (file, flags) => (await import('../handlers/files.ts')).downloadFile(file, flags))
}
