import { contract } from './contract.ts';
import { node } from './node-runtime.ts';

// A query makes a moderation no request for the direct way.
contract({ ...node, name: 'Node, through the adapter', query: '?way=adapter' });
