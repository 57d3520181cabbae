import { createReadTool } from '../../../../src/relay-admin/tools/read.ts';
import { patientCall, recordingRelay } from '../../harness/recording-relay.ts';

/** What the tool shows of this data of the relay, and what it asked for. */
export const readOf = async (data: unknown, given: unknown) => {
  const { relay, asked } = recordingRelay(data);
  const result = await createReadTool({ relay, hideKey: (text) => text }).call(given, patientCall());
  return { result, asked };
};
