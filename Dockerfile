# The service in a container: no root, a read-only root file system, everything written below /data.
#   docker build -t atrium .
#   docker run --read-only --tmpfs /tmp -v atrium:/data -e OBJECT_STORE_PORT=9000 -p 3000:3000 -p 9000:9000 atrium
# docs/operating/deploy.md says how large it is, and of what.

# What runs: no compilers (peers of packages bring TypeScript), and nothing that only developers and linkers read.
FROM oven/bun:1.4.5-slim AS dependencies
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
RUN bun install --frozen-lockfile --production --omit peer && cp bun.lock node_modules/.bun.lock
RUN find node_modules -type f \
  \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.a' \) -delete
# Of pdfjs-dist only the character maps are read.
RUN rm -rf node_modules/@napi-rs && find node_modules/pdfjs-dist -mindepth 1 -maxdepth 1 \
  ! -name cmaps ! -name package.json ! -name LICENSE -exec rm -rf {} +

FROM oven/bun:1.4.5-slim AS build
WORKDIR /app
COPY package.json bun.lock bunfig.toml tsconfig.json ./
RUN bun install --frozen-lockfile
COPY assembly assembly
RUN sh assembly/build.sh
COPY src src
RUN bun src/console/build.ts && bun src/build.ts

FROM oven/bun:1.4.5-slim
LABEL org.opencontainers.image.title="Atrium" org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/build build
COPY package.json bun.lock bunfig.toml tsconfig.json ./
COPY src src
COPY docs docs
RUN mkdir /data && chown 1000:1000 /data
# The user `bun`, by number: a platform that refuses root can see that it is another user.
USER 1000:1000
# Without S3_ENDPOINT clients reach the embedded object store on a port of its own, OBJECT_STORE_PORT.
ENV HOST=0.0.0.0 PORT=3000 DATA_DIR=/data BUN_RUNTIME_TRANSPILER_CACHE_PATH=0
# As `bun run start` sets them.
ENV NODE_ENV=production UV_THREADPOOL_SIZE=64 BUN_CONFIG_MAX_HTTP_REQUESTS=16384
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["bun", "-e", "process.exit((await fetch(`http://127.0.0.1:${process.env.PORT}/healthz`)).ok ? 0 : 1)"]
CMD ["bun", "build/server/main.js"]
