// The command `moderation-gateway` is `gatehouse gateway`.
process.argv.splice(2, 0, 'gateway');
await import('./gatehouse.ts');

export {};
