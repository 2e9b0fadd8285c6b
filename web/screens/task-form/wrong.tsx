/** What happens when an attempt fails, when it cannot start on time, and when its worker dies. */
import { BOXES } from './draft-fields.ts'
import { FieldBox } from './field-box.tsx'
import { type PartProps, Question } from './part.tsx'
import classes from './task-form.module.css'

const RETRY = BOXES.filter(({ field }) => field === 'retry')
const OTHERS = BOXES.filter(({ about, field }) => about === 'trouble' && field !== 'retry')
/** Fields that apply only to `run_all`. */
const OF_RUN_ALL: readonly string[] = ['misfireCap', 'misfireRate']

export function Wrong(props: PartProps) {
  const isShown = (name: string) => props.draft.misfirePolicy === 'run_all' || !OF_RUN_ALL.includes(name)
  return (
    <Question number={3} title="Failure handling">
      <div className={classes.three}>
        {RETRY.map((box) => (
          <FieldBox key={box.name} box={box} {...props} />
        ))}
      </div>
      <div className={classes.two}>
        {OTHERS.filter(({ name }) => isShown(name)).map((box) => (
          <FieldBox key={box.name} box={box} {...props} />
        ))}
      </div>
    </Question>
  )
}
