/** Whose task it is, and which workers it needs. */
import { BOXES } from './draft-fields.ts'
import { FieldBox } from './field-box.tsx'
import { Folded } from './folded.tsx'
import { type PartProps, Question } from './part.tsx'
import classes from './task-form.module.css'

const SHOWN = BOXES.filter(({ name }) => name === 'tags' || name === 'owner')
/** What few tasks need is folded away, and comes out when it is wrong. */
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
