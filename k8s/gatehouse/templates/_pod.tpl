{{/* What the pods of all services have in common. Takes root and service. */}}
{{- define "gatehouse.pod" -}}
serviceAccountName: {{ include "gatehouse.serviceAccountName" .root | quote }}
automountServiceAccountToken: false
# Variables made from names of other services could be taken for settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  {{- if and (eq .service "agent") (include "gatehouse.agentHasDisk" .root) }}
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Spreads a service's pods, those of each revision for itself. Takes root, service and values. */}}
{{- define "gatehouse.spread" -}}
{{- $it := . }}
{{- with .values.topologySpreadConstraints -}}
topologySpreadConstraints:
  {{- range . }}
  - {{ toYaml . | nindent 4 | trim }}
    labelSelector:
      matchLabels:
        {{- include "gatehouse.selectorLabels" $it | nindent 8 }}
    {{- if not (hasKey . "matchLabelKeys") }}
    {{- /* In a rollout those that are about to go must not count: what stays would be spread by chance. */}}
    matchLabelKeys:
      - pod-template-hash
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}

{{/* A new pod is ready before an old one stops, however many there are. */}}
{{- define "gatehouse.rollout" -}}
strategy:
  type: RollingUpdate
  rollingUpdate:
    maxUnavailable: 0
    maxSurge: 1
{{- end }}

{{- define "gatehouse.podMetadata" -}}
labels:
  {{- include "gatehouse.labels" . | nindent 2 }}
{{- $annotations := dict }}
{{- if and .root.Values.metrics.scrapeAnnotations (ne .service "agent") }}
{{- $annotations = dict "prometheus.io/scrape" "true" "prometheus.io/port" (toString .port) "prometheus.io/path" "/metrics" }}
{{- end }}
{{- with merge dict .values.podAnnotations .checksums $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* A service's container but for env, mounts and lifecycle. Takes root, service, values and port. */}}
{{- define "gatehouse.container" -}}
name: {{ .service }}
image: {{ include "gatehouse.image" . | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop:
      - ALL
ports:
  - name: http
    containerPort: {{ .port }}
    protocol: TCP
startupProbe:
  httpGet:
    path: /health
    port: http
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /health
    port: http
  periodSeconds: 10
  # A burst of large texts that look alike holds the one thread for seconds, and a restart would lose them all.
  timeoutSeconds: 10
  failureThreshold: 6
# Without its backend a gateway or a bridge still has answers: cached verdicts, and errors that clients can read.
readinessProbe:
  httpGet:
    path: {{ ternary "/ready" "/health" (eq .service "agent") }}
    port: http
  periodSeconds: 5
  timeoutSeconds: 5
resources:
  {{- toYaml .values.resources | nindent 2 }}
{{- end }}

{{/* A PodDisruptionBudget. Takes root and service. */}}
{{- define "gatehouse.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "gatehouse.metadata" . | nindent 2 }}
spec:
  maxUnavailable: 1
  # A database that is down makes every agent unready, and must not keep nodes from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "gatehouse.selectorLabels" . | nindent 6 }}
{{- end }}

{{/* A text of a value. Whole numbers of a values file arrive as floats, and a million would be 1e+06. */}}
{{- define "gatehouse.text" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* These stand as deep as the env of a Deployment's container. */}}
{{- define "gatehouse.env" -}}
{{- range $name, $value := . }}
            - name: {{ $name }}
              value: {{ include "gatehouse.text" $value | quote }}
{{- end }}
{{- end }}

{{/* Variables from a Secret. Takes secret and keys: variable to key. */}}
{{- define "gatehouse.secretEnv" -}}
{{- $secret := .secret }}
{{- range $name, $key := .keys }}
            - name: {{ $name | quote }}
              valueFrom:
                secretKeyRef:
                  name: {{ $secret | quote }}
                  key: {{ $key | quote }}
{{- end }}
{{- end }}

{{/* A share of 0 is one, too. */}}
{{- define "gatehouse.samplerArg" -}}
{{- if not (kindIs "invalid" .samplerArg) }}{{ .samplerArg }}{{ end }}
{{- end }}

{{/* Where spans go, for the services that send some. Nothing without an endpoint. */}}
{{- define "gatehouse.tracingEnv" -}}
{{- with .Values.tracing }}
{{- if .endpoint }}
            - name: OTEL_EXPORTER_OTLP_ENDPOINT
              value: {{ .endpoint | quote }}
{{- if (.headersSecret).name }}
{{- include "gatehouse.secretEnv" (dict "secret" .headersSecret.name "keys" (dict "OTEL_EXPORTER_OTLP_HEADERS" .headersSecret.key)) }}
{{- end }}
{{- with .sampler }}
            - name: OTEL_TRACES_SAMPLER
              value: {{ . | quote }}
{{- end }}
{{- if include "gatehouse.samplerArg" . }}
            - name: OTEL_TRACES_SAMPLER_ARG
              value: {{ include "gatehouse.samplerArg" . | quote }}
{{- end }}
{{- $pairs := list }}
{{- range $name, $text := .resourceAttributes }}
{{- /* A blank is + in a query, and stays one here. */}}
{{- $pairs = append $pairs (printf "%s=%s" $name (urlquery $text | replace "+" "%20")) }}
{{- end }}
{{- with $pairs }}
            - name: OTEL_RESOURCE_ATTRIBUTES
              value: {{ join "," . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Nothing but what is set. */}}
{{- define "gatehouse.proxyEnv" -}}
{{- $proxy := .Values.proxy }}
{{- range $name, $value := dict "HTTPS_PROXY" $proxy.httpsProxy "HTTP_PROXY" $proxy.httpProxy "NO_PROXY" $proxy.noProxy }}
{{- if $value }}
            - name: {{ $name }}
              value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}
