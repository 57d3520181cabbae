// A relay that answers every admin read with the same page of users, as fast as Node can.
import { createServer } from 'node:http';

const user = (id) => ({
  id,
  email: `user${id}@example.test`,
  username: `user ${id}`,
  role: 'user',
  status: 'active',
  balance: 12.5,
  frozen_balance: 0,
  concurrency: 5,
  rpm_limit: 60,
  notes: '',
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
});
const items = Array.from({ length: 20 }, (_, index) => user(index + 1));
const data = { items, total: 20, page: 1, page_size: 20, pages: 1 };
const page = JSON.stringify({ code: 0, message: 'success', data });

createServer((request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(request.url === '/health' ? '{"status":"ok"}' : page);
}).listen(Number(process.env.PORT), '127.0.0.1');
