/** The server's settings. They travel on the command line, so an upgrade changes them for existing clusters, too. */
import { totalmem } from 'node:os';

const MEBIBYTE = 1024 * 1024;
const SHARED_BUFFERS_MIB_MIN = 64;
const SHARED_BUFFERS_MIB_MAX = 512;

/** The address is loopback and the port ours alone; there is no socket file. */
export function serverSettings(port: number): Record<string, string> {
  return {
    listen_addresses: '127.0.0.1',
    port: `${port}`,
    unix_socket_directories: '',
    max_connections: '100',
    ...memorySettings(totalmem() / MEBIBYTE),
    ...plannerSettings,
    ...logSettings,
    timezone: 'UTC',
    // Tables that are counted by index-only scans go stale within seconds under writes.
    autovacuum_naptime: '10s',
    // A statement whose client is gone ends soon; so a killed service leaves no busy backend behind.
    client_connection_check_interval: '2s',
  };
}

function memorySettings(totalMib: number): Record<string, string> {
  const sharedBuffersMib = Math.min(SHARED_BUFFERS_MIB_MAX, Math.max(SHARED_BUFFERS_MIB_MIN, totalMib / 16));
  return {
    shared_buffers: `${Math.round(sharedBuffersMib)}MB`,
    effective_cache_size: `${Math.round(totalMib / 2)}MB`,
    work_mem: '16MB',
    maintenance_work_mem: '128MB',
  };
}

/** Many short statements on solid-state storage: compiling and parallel workers cost more than they bring. */
const plannerSettings = { jit: 'off', max_parallel_workers_per_gather: '0', random_page_cost: '1.1' };

/** The server's own events only. A failed statement is the client's to report, and its text may be private. */
const logSettings = {
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] ',
};
