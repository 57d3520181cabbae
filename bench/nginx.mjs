import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const configuration = (port, backendUrl) => `
daemon off;
# One process, which ends with the benchmark.
master_process off;
pid nginx.pid;
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 100000000;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  upstream backend {
    server ${new URL(backendUrl).host};
    keepalive 64;
    keepalive_requests 100000000;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_pass http://backend;
    }
  }
}
`;

/** nginx as a plain proxy to the backend. Throws where it is not installed. */
export const nginxPlan = async (port, backendUrl) => {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore' });
  } catch {
    throw new Error('nginx is not installed here');
  }
  const home = mkdtempSync(join(tmpdir(), 'bench-nginx-'));
  writeFileSync(join(home, 'nginx.conf'), configuration(port, backendUrl));
  return { command: 'nginx', args: ['-p', home, '-c', 'nginx.conf'], readyPath: '/v1/models' };
};
