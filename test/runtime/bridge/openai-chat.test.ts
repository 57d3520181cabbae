import { describe } from '../../check.ts';
import { checkClient } from './clients.ts';
import { CHAT_CLIENTS } from './openai-chat.ts';
import { checkOwnTools } from './own-tools.ts';
import { sharedBridgeWorld } from './world.ts';

const beside = sharedBridgeWorld();

for (const client of Object.values(CHAT_CLIENTS))
  describe(`OpenAI's own client, chat completions, ${client.name}`, (check) => {
    checkClient(check, { beside, client });
    if (client.runsTools === true) checkOwnTools(check, { beside, client });
  });
