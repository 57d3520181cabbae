import { describe } from '../../check.ts';
import { checkEarlyRequests } from './early-requests.ts';

describe('starting the agent bundle', (check) => checkEarlyRequests(check, 30));
