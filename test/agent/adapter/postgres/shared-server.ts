// The one PostgreSQL server that test/run.mjs starts for all files: prints its address, and ends with its standard input.
import { startPostgres } from './world.ts';

const { url, stop } = await startPostgres({ isOwn: true, connections: 300 });
process.stdout.write(`${url}\n`);
process.stdin.resume().on('end', () => void stop().then(() => process.exit(0)));
