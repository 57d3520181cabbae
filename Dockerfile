# One image a service, each a target: docker build --target agent -t gatehouse-agent:v0.1.0 .
# Without --target it is the gateway. See docs/containers.md.

# The Node that bundles, and an image with nothing but the Node that runs. Both may be replaced by --build-arg:
# BASE by any image whose PATH, or /nodejs/bin, has a Node from 22.15 on.
ARG BUILDER=docker.io/library/node:24-trixie-slim
ARG BASE=gcr.io/distroless/nodejs24-debian13:nonroot

# On the platform of the machine that builds: bundles are the same for all.
FROM --platform=$BUILDPLATFORM ${BUILDER} AS build
WORKDIR /src
COPY package.json package-lock.json ./
# No package's own script is needed to bundle, so none runs.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY build.mjs agent.example.json ./
COPY supply supply
COPY src src
COPY LICENSE container/health.mjs /out-app/
# Directories that the services' user may write to: there is no shell to make them later. The second one is the console's.
# Whatever the modes in the checkout were, the services' user can read these.
RUN node build.mjs && mkdir -p /out/data /out/state && chmod 0644 /out-app/*

FROM ${BASE} AS service
LABEL org.opencontainers.image.version="v0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/nodejs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /app
# A number, so that an orchestrator can tell that it is not root.
USER 65532:65532

FROM service AS relay-admin
# What the service calls ./data by default is the volume.
WORKDIR /
LABEL org.opencontainers.image.title="gatehouse-relay-admin" \
      org.opencontainers.image.description="Nine guarded MCP tools over an API-relay platform, on standard input and output"
COPY --from=build --chown=65532:65532 /out/ /
COPY --from=build /out-app/LICENSE /app/
COPY --from=build /src/dist/licenses.txt /src/dist/relay-admin.js /app/
VOLUME /data
ENTRYPOINT ["node", "/app/relay-admin.js"]

FROM service AS listening
COPY --from=build /out-app/health.mjs ./

FROM listening AS bridge
LABEL org.opencontainers.image.title="gatehouse-bridge" \
      org.opencontainers.image.description="Chat completions, responses and models in OpenAI's shape, in front of an agent server"
COPY --from=build /out-app/LICENSE ./
COPY --from=build /src/dist/licenses.txt /src/dist/bridge.js ./
# Without keys it would listen to its own container only. With this it says that it needs them.
ENV HOST=0.0.0.0
EXPOSE 4100
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "/app/health.mjs", "4100"]
ENTRYPOINT ["node", "--max-semi-space-size=8", "--initial-old-space-size=32", "--heap-growing-percent=60", "/app/bridge.js"]

FROM listening AS console
LABEL org.opencontainers.image.title="gatehouse-console" \
      org.opencontainers.image.description="A page in the browser: approvals, verdicts, chat, sessions and recharges"
# Whichever of the two comes first: a volume with the agent's journal must belong to the services' user.
COPY --from=build --chown=65532:65532 /out/ /
COPY --from=build /out-app/LICENSE ./
COPY --from=build /src/dist/licenses.txt /src/dist/console.js ./
# HOST as for the bridge.
ENV HOST=0.0.0.0
EXPOSE 4200
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "/app/health.mjs", "4200"]
ENTRYPOINT ["node", "--max-semi-space-size=2", "/app/console.js"]

FROM listening AS agent
LABEL org.opencontainers.image.title="gatehouse-agent" \
      org.opencontainers.image.description="Sessions with a model that calls tools under permission rules, over HTTP"
# What it and its tool server call ./data by default is the volume: the sessions, and the journal of recharges.
WORKDIR /
COPY --from=build --chown=65532:65532 /out/ /
COPY --from=build /out-app/LICENSE /app/
# With its tool server, and the command by which a configuration names it.
COPY --from=build /src/dist/licenses.txt /src/dist/agent.js /src/dist/agent-command.js /src/dist/gatehouse.js /src/dist/relay-admin.js /app/
# HOST as for the bridge.
ENV HOST=0.0.0.0 \
    AGENT_CONFIG=/etc/gatehouse/agent.json
VOLUME /data
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "/app/health.mjs", "4000"]
# By the command of all services, so that export and import are words behind the image's name.
ENTRYPOINT ["node", "--max-semi-space-size=8", "/app/gatehouse.js", "agent"]

FROM listening AS gateway
LABEL org.opencontainers.image.title="gatehouse-gateway" \
      org.opencontainers.image.description="POST /v1/moderations in OpenAI's shape, judged by an open chat model"
COPY --from=build /out-app/LICENSE ./
COPY --from=build /src/dist/licenses.txt /src/dist/gateway.js ./
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["node", "/app/health.mjs", "8000"]
ENTRYPOINT ["node", "--max-semi-space-size=8", "/app/gateway.js"]
