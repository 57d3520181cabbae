import { createConsoleWorld } from '../harness/world.ts';

/** The list of requests as `GET /api/approvals` answers it. */
export type Shown = {
  readonly open: readonly (Readonly<Record<string, unknown>> & {
    readonly id: string;
    readonly argumentsHash: string;
  })[];
  readonly decided: readonly Readonly<Record<string, unknown>>[];
};

/** A console whose first agent server asks `per_1`, and what it shows of that. */
export const withRequest = async (more: Readonly<Record<string, unknown>> = {}) => {
  const world = await createConsoleWorld();
  world.agents[0].ask('per_1', { user_id: 7, amount: '12.5' }, more);
  await world.clock.advance(5000);
  const shown = async (): Promise<Shown> => {
    const { headers } = await world.login('vera');
    return (await (await world.send('GET', '/api/approvals', { headers })).json()) as Shown;
  };
  return { ...world, shown };
};
