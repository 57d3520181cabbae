import { contract } from './contract.ts';
import { node } from './node-runtime.ts';

contract(node);
