# The service in a container: no root, a read-only root file system, everything written below /data.
#   docker build -t atrium .
#   docker run --read-only --tmpfs /tmp -v atrium:/data -e OBJECT_STORE_PORT=9000 -p 3000:3000 -p 9000:9000 atrium

FROM oven/bun:1.4.5-slim AS dependencies
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
RUN bun install --frozen-lockfile --production && cp bun.lock node_modules/.bun.lock

FROM dependencies AS kernels
COPY assembly assembly
RUN sh assembly/build.sh
COPY tsconfig.json ./
COPY src src
RUN bun src/console/build.ts

FROM oven/bun:1.4.5-slim
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=kernels /app/build build
COPY package.json bun.lock bunfig.toml tsconfig.json ./
COPY assembly assembly
COPY src src
RUN mkdir /data && chown bun:bun /data
USER bun
# Without S3_ENDPOINT clients reach the embedded object store on a port of its own, OBJECT_STORE_PORT.
ENV HOST=0.0.0.0 PORT=3000 DATA_DIR=/data BUN_RUNTIME_TRANSPILER_CACHE_PATH=0
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["bun", "-e", "process.exit((await fetch(`http://127.0.0.1:${process.env.PORT}/healthz`)).ok ? 0 : 1)"]
CMD ["bun", "run", "start"]
