import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dashboardText, PAGES } from './dashboards.ts';

for (const page of PAGES)
  writeFileSync(
    join(import.meta.dirname, `../../../k8s/gatehouse/files/monitoring/${page.name}.json`),
    dashboardText(page),
  );
