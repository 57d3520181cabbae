// The name by which the gateway alone is known: `moderation-gateway` is `gatehouse gateway`.
process.argv.splice(2, 0, 'gateway');
await import('./gatehouse.ts');

export {};
