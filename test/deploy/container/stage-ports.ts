/** Where the toys answer in the container named `stage`. */
export const STAGE_PORTS = { judge: 8081, model: 8082, relay: 8090 } as const;
