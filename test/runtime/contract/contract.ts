import { describe } from '../../check.ts';
import { adminContract } from './admin.ts';
import { backendContract } from './backend.ts';
import { requestsContract } from './requests.ts';
import { serviceContract } from './service.ts';
import { createWorlds, type Runtime } from './worlds.ts';

/** What every runtime must do with the same code. Each check asks over real HTTP; the last one ends all that was started. */
export const contract = (runtime: Runtime): void => {
  describe(`the gateway on ${runtime.name}`, (check) => {
    const worlds = createWorlds(runtime);
    requestsContract(check, worlds);
    backendContract(check, worlds);
    adminContract(check, worlds);
    serviceContract(check, worlds, runtime);
  });
};
