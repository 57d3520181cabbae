import { describe } from '../../../check.ts';
import { checkRandomOperations } from './random-operations.ts';

describe('three servers on one database', (check) => checkRandomOperations(check, 60));
