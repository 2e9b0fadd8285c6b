/** The owner of the task, and the workers it needs. */
import { BOXES } from './draft-fields.ts'
import { FieldBox } from './field-box.tsx'
import { Folded } from './folded.tsx'
import { type PartProps, Question } from './part.tsx'
import classes from './task-form.module.css'

const SHOWN = BOXES.filter(({ name }) => name === 'tags' || name === 'owner')
/** Fields that few tasks need are in a collapsed section, which opens if one of them has a problem. */
const FOLDED = BOXES.filter(({ name, about }) => name === 'key' || about === 'where')

export function Who(props: PartProps) {
  return (
    <Question number={4} title="Ownership and routing">
      <div className={classes.two}>
        {SHOWN.map((box) => (
          <FieldBox key={box.name} box={box} {...props} />
        ))}
      </div>
      <Folded
        summary="Key, queue, workers, limits and metadata"
        fields={FOLDED.map(({ pointer }) => pointer)}
        errorAt={props.errorAt}
      >
        {FOLDED.map((box) => (
          <FieldBox key={box.name} box={box} {...props} />
        ))}
      </Folded>
    </Question>
  )
}
