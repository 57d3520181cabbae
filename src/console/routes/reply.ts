import { jsonTextResponse } from '../../core/http/response.ts';
import type { SecretFilter } from '../services/secret-filter.ts';

/** Answers JSON that holds none of the console's own secrets. */
export type Reply = {
  readonly json: (value: unknown, status?: number) => Response;
  /** Of JSON that was checked and is written already. */
  readonly text: (json: string) => Response;
};

export const createReply = (hide: SecretFilter): Reply => ({
  json: (value, status = 200) => jsonTextResponse(status, hide(JSON.stringify(value))),
  text: (json) => jsonTextResponse(200, hide(json)),
});
