/** The parts of the program that follow from the declaration, as they are when it has two fields more. */
import './declare.ts'

export { addTaskFlags, readTaskFlags } from '../../../src/cli/client/task-flags.ts'
export { createParts } from '../../../web/screens/task-form/command.ts'
export { draftOf, emptyDraft } from '../../../web/screens/task-form/draft.ts'
export { changesOf, fullInput } from '../../../web/screens/task-form/draft-input.ts'
export { draftOfJson } from '../../../web/screens/task-form/draft-json.ts'
export { createTestApp } from '../../api/test-app.ts'
