// Runs the cases of the files that it is given; see suite.mjs.
import { main } from './suite.mjs';

process.on('unhandledRejection', () => {}); // the SDK rejects promises of queries that were closed
await main(process.argv.slice(2));
