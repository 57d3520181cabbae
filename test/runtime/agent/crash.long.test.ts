import { describe } from '../../check.ts';
import { checkKills } from './crash.ts';

describe('killing the agent bundle', (check) => checkKills(check, 200));
