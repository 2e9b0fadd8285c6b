import { describeSelf } from '../../../operations/people/me.ts'
import type { App } from '../../app.ts'
import { problems } from '../../http/schemas/problem-document.ts'
import { Me } from './schemas.ts'

const read = {
  operationId: 'getMe',
  tags: ['sign-in'],
  summary: 'Show who the caller is and which roles it has',
  description: 'For API keys and for people who signed in. Needs a valid credential, but no role.',
  response: { 200: Me, ...problems() },
}

export function meRoutes(app: App): void {
  app.get(
    '/v1/me',
    { schema: read, config: { access: 'self', importance: 'read' } },
    async ({ context }): Promise<Me> => {
      const { projects, ...self } = await describeSelf(context)
      return { ...self, projects: [...projects] }
    },
  )
}
