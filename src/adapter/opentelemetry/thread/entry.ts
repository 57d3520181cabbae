// The program of the thread that sends spans. It shares nothing with the process but messages.
import { parentPort, workerData } from 'node:worker_threads';
import { createSender } from '../sender.ts';
import { type SendAnswer, type SendQuestion, toReadableSpans } from './messages.ts';

const { send } = createSender(workerData);

parentPort?.on('message', async ({ id, sent }: SendQuestion) => {
  const answer: SendAnswer = { id, reason: await send(toReadableSpans(sent)) };
  parentPort?.postMessage(answer);
});
