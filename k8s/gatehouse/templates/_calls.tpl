{{/*
Whom an address leads to, as JSON: its port, and the namespace if it may be a Service of this cluster. Takes url and namespace,
that of the release. `open` says why neither is known; nothing at all is for the pod itself. It refuses nothing: texts that only
look like addresses come here, too.
*/}}
{{- define "gatehouse.peer" -}}
{{- $scheme := regexFind "^[^:]*" .url | lower }}
{{- $rest := regexReplaceAll "^[^:]*://" .url "" }}
{{- $place := regexFind "^[^/?#]*" $rest | lower }}
{{- $place = regexReplaceAll "^.*@" $place "" }}
{{- $place = regexReplaceAll "[^a-z0-9\\]]+$" $place "" }}
{{- $port := regexFind ":[0-9]+$" $place }}
{{- $host := trimSuffix $port $place | trimSuffix "." }}
{{- $usual := dict "http" "80" "https" "443" "redis" "6379" "rediss" "6379" }}
{{- $labels := splitList "." $host }}
{{- $peer := dict }}
{{- $namespace := "" }}
{{- if contains "$(" .url }}
{{- $_ := set $peer "open" "an address is made of other variables" }}
{{- else if regexMatch "^(localhost|127\\.[0-9.]+|\\[::1\\])$" $host }}
{{- else if not (and $host (contains "://" .url) (hasKey $usual $scheme)) }}
{{- $_ := set $peer "open" (printf "who else is called by an address with %s:// is not known" $scheme) }}
{{- else if regexMatch "^([0-9.]+$|\\[)" $host }}
{{- $_ := set $peer "open" (printf "%s may be the address of a Service" $host) }}
{{- else }}
{{- $number := trimPrefix ":" $port | default (get $usual $scheme) | int }}
{{- if and (ge $number 1) (le $number 65535) }}
{{- $_ := set $peer "port" $number }}
{{- end }}
{{- if eq (len $labels) 1 }}
{{- $namespace = .namespace }}
{{- else if regexMatch "\\.[^.]+\\.svc(\\.|$)" $host }}
{{- $namespace = regexReplaceAll "^.*\\.([^.]+)\\.svc(\\..*)?$" $host "${1}" }}
{{- else if and (eq (len $labels) 2) (not (has (last $labels) (list "com" "net" "org"))) }}
{{- $namespace = last $labels }}
{{- end }}
{{- if regexMatch "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" $namespace }}
{{- $_ := set $peer "namespace" $namespace }}
{{- end }}
{{- end }}
{{- toJson $peer }}
{{- end }}

{{/*
What a service calls, as JSON. Takes root and service.
- ports: those that it may reach anywhere; egressPorts and those of addresses
- namespaces: those whose pods it may reach at any port, as behind a Service the port of its pods counts
- pods: the services of this chart that it calls
- open: why some of what it calls is not known; with ports of its own in networkPolicy.egress nothing is
What the texts of its settings hold counts with `auto` alone.
*/}}
{{- define "gatehouse.calls" -}}
{{- $service := .service }}
{{- $all := .root.Values }}
{{- $values := get $all .service }}
{{- $isAuto := eq (toString $all.networkPolicy.enabled) "auto" }}
{{- $ports := $all.networkPolicy.egressPorts | default list }}
{{- $urls := list ($all.proxy).httpsProxy ($all.proxy).httpProxy }}
{{- $texts := list (omit ($values.env | default dict) "BRIDGE_CORS_ORIGINS" "CONSOLE_PUBLIC_URL" | toRawJson) }}
{{- $pods := list }}
{{- $open := list }}
{{- if eq .service "gateway" }}
{{- $urls = prepend $urls ($all.backend.baseUrl | default $all.gateway.env.BACKEND_CLOUD_URL | default "https://ollama.com") }}
{{- $texts = append $texts (toRawJson $all.config) }}
{{- if $all.redis.existingSecret }}
{{- $ports = append $ports ($all.redis.port | default 6379) }}
{{- if not $all.redis.port }}
{{- $open = append $open "redis.port is empty" }}
{{- end }}
{{- end }}
{{- else if eq .service "agent" }}
{{- $urls = prepend $urls (ternary $all.agent.relay.baseUrl "" $all.agent.relay.enabled) }}
{{- $open = append $open "its models and tools are where its configuration says" }}
{{- if $all.agent.database.existingSecret }}
{{- $ports = append $ports ($all.agent.database.port | default 5432) }}
{{- end }}
{{- else if eq .service "bridge" }}
{{- $urls = splitList "," ($all.bridge.agent.baseUrl | default "") }}
{{- if not $all.bridge.agent.baseUrl }}
{{- $ports = list }}
{{- $pods = list "agent" }}
{{- end }}
{{- else }}
{{- $urls = concat (list $all.console.gatewayUrl $all.console.bridgeUrl) (splitList "," ($all.console.agentUrls | default "")) }}
{{- range list "agent" "bridge" "gateway" }}
{{- if (get $all .).enabled }}
{{- $pods = append $pods . }}
{{- end }}
{{- end }}
{{- if hasKey $all.console.secretKeys "CONSOLE_NOTIFY_URL" }}
{{- $open = append $open "the address of its webhook is in a Secret" }}
{{- end }}
{{- end }}
{{- range $values.extraEnv }}
{{- if .valueFrom }}
{{- $open = append $open (printf "%s of its extraEnv is taken from elsewhere" .name) }}
{{- else if and (eq .name "NODE_OPTIONS") (regexMatch "(^|\\s)(-r|--require|--import|--(experimental-)?loader)\\b" (.value | default "")) }}
{{- $open = append $open "NODE_OPTIONS loads a program of its own" }}
{{- end }}
{{- $texts = append $texts (.value | default "") }}
{{- end }}
{{- if regexMatch "inject" (toJson $values.podAnnotations) }}
{{- $open = append $open "podAnnotations add a sidecar" }}
{{- end }}
{{- $known := list }}
{{- range compact $urls }}
{{- $known = append $known (dict "url" (trim .) "isWhole" $isAuto) }}
{{- end }}
{{- if and ($all.tracing).endpoint (ne .service "console") }}
{{- $known = append $known (dict "url" $all.tracing.endpoint "isWhole" true) }}
{{- end }}
{{- if $isAuto }}
{{- range $texts }}
{{- /* A password may have characters that end an address elsewhere. */}}
{{- range regexFindAll "([A-Za-z]|\\$\\([^()\\s]*\\))[A-Za-z0-9+.-]*://([^\\s/?#@\"\\\\]*@)?[^\\s,;\"'`<>\\\\{}|]+" . -1 }}
{{- $known = append $known (dict "url" . "isWhole" true) }}
{{- end }}
{{- end }}
{{- end }}
{{- $namespaces := list }}
{{- range $known }}
{{- $peer := include "gatehouse.peer" (dict "url" .url "namespace" $.root.Release.Namespace) | fromJson }}
{{- with $peer.port }}
{{- $ports = append $ports . }}
{{- end }}
{{- if and .isWhole $peer.namespace }}
{{- $namespaces = append $namespaces $peer.namespace }}
{{- end }}
{{- with $peer.open }}
{{- $open = append $open . }}
{{- end }}
{{- end }}
{{- with get ($all.networkPolicy.egress | default dict) .service }}
{{- $ports = concat $ports . }}
{{- $open = list }}
{{- end }}
{{- $numbers := list }}
{{- range $ports }}
{{- $numbers = append $numbers (int .) }}
{{- end }}
{{- dict "ports" (uniq $numbers) "namespaces" (uniq $namespaces) "pods" $pods "open" (uniq $open) | toJson }}
{{- end }}
