import { isRecord } from '../core/record.ts';
import { badInput } from './bad-input.ts';

const ITEMS_LIMIT = 2000;
const PARTS_LIMIT = 1000;
/** Members of messages and items that hold lists which are gone through one by one. */
const LISTS = ['content', 'output', 'tool_calls'];

const tooMany = (at: string, limit: number, what: string) =>
  badInput('invalid_value', at, `Invalid value at '${at}': there are more than ${limit} ${what}`);

/**
 * Refuses messages, or items, of which there are so many that reading them would keep everybody else waiting. One part in a
 * message is as good as a text, so only further ones are counted. `at` is the list's place in the body.
 */
export const refuseTooMany = (list: unknown, at: string): void => {
  if (!Array.isArray(list)) return;
  if (list.length > ITEMS_LIMIT) throw tooMany(at, ITEMS_LIMIT, 'of them');
  let parts = 0;
  for (const [index, item] of list.entries()) {
    for (const name of LISTS) {
      const held: unknown = isRecord(item) ? item[name] : undefined;
      parts += Array.isArray(held) ? Math.max(0, held.length - 1) : 0;
      if (parts > PARTS_LIMIT) throw tooMany(`${at}[${index}].${name}`, PARTS_LIMIT, 'parts in this request');
    }
  }
};
