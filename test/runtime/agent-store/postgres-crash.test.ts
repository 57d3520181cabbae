import { describe } from '../../check.ts';
import { checkPostgresKills } from './postgres-crash.ts';

describe('killing agent bundles on PostgreSQL', (check) => checkPostgresKills(check, 4));
