export { Response } from '@whatwg-node/fetch';
