import type { Variables } from '../../../core/config.ts';
import type { WorkerPlace } from '../../../gateway/settings/workers.ts';

/** Set by the process that starts a worker, for that worker alone. */
const PLACE_VARIABLE = 'GATEHOUSE_WORKER';

/** The variable that makes a process a worker. */
export const placeVariable = ({ number, of }: WorkerPlace): Variables => ({ [PLACE_VARIABLE]: `${number}/${of}` });

/** The worker that this process is; undefined for a service's first process, or its only one. */
export const readPlace = (variables: Variables): WorkerPlace | undefined => {
  const [, number, of] = /^(\d{1,3})\/(\d{1,3})$/.exec(variables[PLACE_VARIABLE] ?? '') ?? [];
  return number === undefined || of === undefined || process.send === undefined
    ? undefined
    : { number: Number(number), of: Number(of) };
};
