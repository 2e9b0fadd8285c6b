/** The drop zone and the progress of uploads. */
import { Button, Progress } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { type DragEvent, useEffect, useRef, useState } from 'react'
import { fileKeys, uploadFile } from '../../api/files.ts'
import { queryClient } from '../../api/query-client.ts'
import type { StoredFile } from '../../api/wire.ts'
import { Failure } from '../../components/failure.tsx'
import { Icon } from '../../components/icon.tsx'
import { sizeWords } from './file-words.ts'
import classes from './uploads.module.css'

interface Upload {
  readonly number: number
  readonly file: File
  readonly fraction: number
  readonly stored?: StoredFile
  readonly error?: unknown
}

interface UploadsProps {
  /** Called for each file that is ready. */
  readonly onReady?: (file: StoredFile) => void
}

export function Uploads({ onReady }: UploadsProps) {
  const { uploads, begin, cancel } = useUploads(onReady)
  const [isOver, setOver] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const onDrop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    begin(event.dataTransfer.files)
  }
  return (
    <section
      className={classes.zone}
      aria-label="Upload files"
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <p className={classes.words}>
        Drop files here, or{' '}
        <Button size="xs" variant="default" onClick={() => input.current?.click()}>
          Choose files…
        </Button>
      </p>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={({ currentTarget }) => {
          begin(currentTarget.files)
          currentTarget.value = ''
        }}
      />
      {uploads.length > 0 && (
        <ul className={classes.list}>
          {uploads.map((upload) => (
            <UploadRow key={upload.number} upload={upload} onCancel={() => cancel(upload.number)} />
          ))}
        </ul>
      )}
    </section>
  )
}

function UploadRow({ upload, onCancel }: { readonly upload: Upload; readonly onCancel: () => void }) {
  const { file, fraction, stored, error } = upload
  return (
    <li className={classes.upload}>
      <span className={classes.name}>
        {stored ? (
          <Link to="/files/$fileId" params={{ fileId: stored.id }}>
            {file.name}
          </Link>
        ) : (
          file.name
        )}{' '}
        <span className={classes.size}>{sizeWords(file.size)}</span>
      </span>
      {stored && (
        <span className={classes.done} role="status">
          <Icon name="check" size={16} /> Uploaded
        </span>
      )}
      {!stored && error === undefined && (
        <>
          <Progress value={fraction * 100} aria-label={`Upload of ${file.name}`} className={classes.bar} />
          <Button size="xs" variant="default" onClick={onCancel}>
            Cancel
          </Button>
        </>
      )}
      {error !== undefined && (
        <div className={classes.failure}>
          <Failure error={error} />
        </div>
      )}
    </li>
  )
}

/** Uploads started on this page. Leaving the page cancels those in progress. */
function useUploads(onReady: UploadsProps['onReady']) {
  const [uploads, setUploads] = useState<readonly Upload[]>([])
  const running = useRef(new Map<number, AbortController>())
  const next = useRef(0)
  useEffect(() => {
    const { current } = running
    return () => {
      for (const controller of current.values()) controller.abort()
    }
  }, [])
  const change = (number: number, part: Partial<Upload>) =>
    setUploads((all) => all.map((upload) => (upload.number === number ? { ...upload, ...part } : upload)))
  const start = async (number: number, file: File) => {
    const controller = new AbortController()
    running.current.set(number, controller)
    try {
      const onProgress = (fraction: number) => change(number, { fraction })
      const stored = await uploadFile(file, { onProgress, signal: controller.signal })
      change(number, { fraction: 1, stored })
      void queryClient.invalidateQueries({ queryKey: fileKeys.lists })
      onReady?.(stored)
    } catch (error) {
      if (controller.signal.aborted) setUploads((all) => all.filter((upload) => upload.number !== number))
      else change(number, { error })
    } finally {
      running.current.delete(number)
    }
  }
  return {
    uploads,
    cancel: (number: number) => running.current.get(number)?.abort(),
    begin: (files: FileList | null) => {
      const begun = [...(files ?? [])].map((file) => ({ number: next.current++, file, fraction: 0 }))
      setUploads((all) => [...begun, ...all])
      for (const { number, file } of begun) void start(number, file)
    },
  }
}
