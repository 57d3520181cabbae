import { createConsoleWorld } from '../harness/world.ts';

const HOOK = { CONSOLE_NOTIFY_URL: 'https://hook.example/in', CONSOLE_PUBLIC_URL: 'https://console.example' };

type Given = Readonly<Record<string, unknown>>;
type WorldNeeds = NonNullable<Parameters<typeof createConsoleWorld>[0]>;

/** A console that has announced a request; `path` is that of its link. */
export const announced = async (given: Given = { user_id: 7 }, needs: WorldNeeds = {}, more: Given = {}) => {
  const world = await createConsoleWorld({ ...needs, variables: { ...HOOK, ...needs.variables } });
  world.agents[0].ask('per_1', given, more);
  await world.clock.advance(5000);
  const messages = () =>
    world.services.sent.filter(({ headers, method }) => method === 'POST' && !('authorization' in headers));
  const { link = '' } = (messages()[0]?.body ?? {}) as { link?: string };
  return { ...world, messages, link, path: link.replace('https://console.example', '') };
};
/** A console that has announced a request, and the link to it. */
export type Announced = Awaited<ReturnType<typeof announced>>;
