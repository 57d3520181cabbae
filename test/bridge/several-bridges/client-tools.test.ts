import './two-bridges.ts';
import '../service/client-tools/chats.test.ts';
import '../service/client-tools/refusals.test.ts';
import '../service/client-tools/responses.test.ts';
import '../service/client-tools/results.test.ts';
import '../service/client-tools/retries.test.ts';
