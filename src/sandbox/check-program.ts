/**
 * Validates the name, arguments, environment and work files of a program. Callers have already validated most of it with their
 * own messages; this is the final check before paths become arguments.
 */

import type { Program } from './sandbox.ts'

export const MAX_WORK_FILES = 256
/** bubblewrap accepts 9,000 arguments with those of the program; each file and each variable takes three. */
export const MAX_ARGUMENTS = 4_000
export const MAX_VARIABLES = 1_000
export const MAX_SHARED = 64
/** The kernel's limit for one argument or variable, and half of its usual limit for all of them. */
const MAX_TEXT_BYTES = 128 * 1_024 - 1
const MAX_TOTAL_BYTES = 1_024 ** 2
/** The kernel counts a pointer and the end of the text as well. */
const POINTER_BYTES = 9
const MAX_PATH_BYTES = 1_024
const MAX_NAME_BYTES = 255
/** A shell could interpret other names, for example as functions. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Returns a sentence about what is wrong with the program; null if it is valid. */
export function findFault(program: Program): string | null {
  const { executable, name, args, env, files, readable, writable = [] } = program
  if (!isAbsolute(executable)) return `The executable ${shown(executable)} must be an absolute path.`
  if (name !== null && !isFileName(name)) return `The name ${shown(name)} is not a file name.`
  if (args.length > MAX_ARGUMENTS)
    return `A program can have at most ${MAX_ARGUMENTS} arguments, not ${args.length}.`
  if (args.some((arg) => arg.includes('\0'))) return 'Arguments cannot contain the character U+0000.'
  const variables = Object.entries(env)
  if (variables.length > MAX_VARIABLES)
    return `At most ${MAX_VARIABLES} environment variables can be set, not ${variables.length}.`
  for (const [key, value] of variables) {
    if (!VARIABLE.test(key))
      return `${shown(key)} is not a name of an environment variable: letters, digits and underscores.`
    if (value.includes('\0')) return `The variable ${key} contains the character U+0000.`
  }
  const texts = [...args, ...variables.map(([key, value]) => `${key}=${value}`)].map((text) =>
    Buffer.byteLength(text),
  )
  if (texts.some((bytes) => bytes > MAX_TEXT_BYTES))
    return `An argument or environment variable is longer than ${MAX_TEXT_BYTES} bytes. Use the input or a file instead.`
  if (texts.reduce((sum, bytes) => sum + bytes + POINTER_BYTES, 0) > MAX_TOTAL_BYTES)
    return `Arguments and environment are longer than ${MAX_TOTAL_BYTES} bytes. Use the input or a file instead.`
  if (files.length > MAX_WORK_FILES)
    return `At most ${MAX_WORK_FILES} files fit into a work directory, not ${files.length}.`
  for (const { source } of files)
    if (typeof source === 'string' && !isAbsolute(source)) return `${shown(source)} must be an absolute path.`
  const shared = [...readable, ...writable]
  if (shared.length > MAX_SHARED)
    return `At most ${MAX_SHARED} paths can be readable or writable, not ${shared.length}.`
  for (const path of shared) if (!isAbsolute(path)) return `${shown(path)} must be an absolute path.`
  return findPathFault(files.map(({ path }) => path))
}

/** Returns what is wrong with the paths in one work directory; null if they are valid. */
export function findPathFault(paths: readonly string[]): string | null {
  const taken = new Set<string>()
  const folders = new Set<string>()
  for (const path of paths) {
    const parts = path.split('/')
    if (!parts.every(isFileName) || Buffer.byteLength(path) > MAX_PATH_BYTES)
      return (
        `The path ${shown(path)} does not fit into a work directory: it must be relative, without empty parts, "." or "..", and at ` +
        `most ${MAX_PATH_BYTES} bytes long.`
      )
    if (taken.has(path)) return `Two files have the path ${shown(path)}.`
    taken.add(path)
    for (let i = 1; i < parts.length; i += 1) folders.add(parts.slice(0, i).join('/'))
  }
  const both = paths.find((path) => folders.has(path))
  return both === undefined ? null : `The path ${shown(both)} is used as both a file and a directory.`
}

const isAbsolute = (path: string) => path.startsWith('/') && !path.includes('\0')

const isFileName = (name: string) =>
  name !== '' &&
  name !== '.' &&
  name !== '..' &&
  !/[/\0]/.test(name) &&
  Buffer.byteLength(name) <= MAX_NAME_BYTES

const shown = (text: string) => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)
