import * as assert from 'uvu/assert';
import { hintForBridgePath } from '../../../src/bridge/http/unknown-path.ts';
import { describe } from '../../check.ts';

describe('a path without a route', (check) => {
  check('is explained where OpenAI answers it, or another API does', () => {
    for (const [path, hint] of [
      ['/v1/embeddings', 'no embeddings'],
      ['/v1/images/generations', 'No images'],
      ['/v1/audio/transcriptions', 'input_audio'],
      ['/v1/moderations', 'moderation gateway'],
      ['/v1/messages', "not Anthropic's"],
      ['/v1/threads/thread_1/runs', '/v1/responses'],
      ['/v1/batches', 'no batches'],
      ['/v1/files/file-1', 'data: URL'],
      ['/api/chat', "not Ollama's"],
      ['/v1/v1/embeddings', 'twice'],
      ['/chat/completions', 'lacks /v1'],
    ] as const)
      assert.match(hintForBridgePath(path), hint, path);
  });

  check('is told what there is, whatever its name begins with', () => {
    for (const path of ['/', '/v1', '/v1/', '/v1/embeddingsx', '/v1/chat', '/api', `/${'a'.repeat(10_000)}`])
      assert.match(hintForBridgePath(path), 'This bridge answers /v1/models', path.slice(0, 40));
  });
});
