{{- define "gatehouse.podPort" -}}
{{ get (dict "gateway" 8000 "agent" 4000 "bridge" 4100 "console" 4200) . }}
{{- end }}

{{/* What a service may call beside DNS, as JSON: ports on any host, and services of this chart. Takes root and service. */}}
{{- define "gatehouse.calls" -}}
{{- $all := .root.Values }}
{{- $ports := $all.networkPolicy.egressPorts | default list }}
{{- $services := list }}
{{- if and (eq .service "bridge") (not $all.bridge.agent.baseUrl) }}
{{- $ports = list }}
{{- $services = list "agent" }}
{{- else if eq .service "console" }}
{{- range list "agent" "bridge" "gateway" }}
{{- if (get $all .).enabled }}
{{- $services = append $services . }}
{{- end }}
{{- end }}
{{- end }}
{{- $ports = concat $ports (get ($all.networkPolicy.egress | default dict) .service | default list) }}
{{- dict "ports" (uniq $ports) "services" $services | toJson }}
{{- end }}

{{/* Peers that may call a service, as YAML: those that are named, and with them the services of this chart that do. */}}
{{- define "gatehouse.clients" -}}
{{- $clients := get (.root.Values.networkPolicy.clients | default dict) .service }}
{{- $own := dict "agent" (list "bridge" "console") "gateway" (list "console") "bridge" (list "console") "console" list }}
{{- if or $clients (eq .service "agent") }}
{{- range get $own .service }}
{{- if (get $.root.Values .).enabled }}
{{- $labels := include "gatehouse.selectorLabels" (dict "root" $.root "service" .) | fromYaml }}
{{- $clients = append $clients (dict "podSelector" (dict "matchLabels" $labels)) }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $clients }}
{{- end }}

{{/* The halves that a service's policy has: Ingress, Egress, both or none. */}}
{{- define "gatehouse.policyTypes" -}}
{{- $policy := .root.Values.networkPolicy }}
{{- $isAuto := eq (toString $policy.enabled) "auto" }}
{{- if and (get .root.Values .service).enabled (or $isAuto (eq (toString $policy.enabled) "true")) }}
{{- if or (not $isAuto) (get ($policy.clients | default dict) .service) }}Ingress {{ end }}
{{- if or (not $isAuto) (get ($policy.egress | default dict) .service) }}Egress{{ end }}
{{- end }}
{{- end }}

{{/* What a service's policy limits, in one line. Takes root and service. */}}
{{- define "gatehouse.policyNote" -}}
{{- $types := include "gatehouse.policyTypes" . | trim | splitList " " }}
{{- $calls := include "gatehouse.calls" . | fromJson }}
{{- .service }}: {{ if has "Egress" $types }}calls only DNS{{ range $calls.services }}, the {{ . }}{{ end }}{{ range $calls.ports }}, port {{ . }}{{ end }}
{{- else }}calls anything, as networkPolicy.egress.{{ .service }} is empty
{{- end }}; {{ if has "Ingress" $types }}is called by {{ if or (include "gatehouse.clients" . | fromYamlArray) (eq .service "agent") }}its clients only{{ else }}anyone, on its port{{ end }}
{{- else }}is called by anyone, as networkPolicy.clients.{{ .service }} is empty
{{- end }}
{{- end }}

{{/* The NetworkPolicy of a service, or nothing. Takes root and service. */}}
{{- define "gatehouse.networkPolicy" -}}
{{- with include "gatehouse.policyTypes" . | trim }}
{{- $types := splitList " " . }}
{{- with $ }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "gatehouse.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "gatehouse.selectorLabels" . | nindent 6 }}
  policyTypes:
    {{- range $types }}
    - {{ . }}
    {{- end }}
  {{- if has "Ingress" $types }}
  {{- $clients := include "gatehouse.clients" . | fromYamlArray }}
  {{- if and (eq .service "agent") (not $clients) }}
  ingress: []
  {{- else }}
  ingress:
    - ports:
        - port: {{ include "gatehouse.podPort" .service }}
          protocol: TCP
      {{- with $clients }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  {{- end }}
  {{- end }}
  {{- if has "Egress" $types }}
  {{- $calls := include "gatehouse.calls" . | fromJson }}
  egress:
    # Names. Pods of OpenShift's DNS listen on 5353, and those of some clusters on any port.
    - ports:
        {{- range list 53 5353 }}
        - port: {{ . }}
          protocol: UDP
        - port: {{ . }}
          protocol: TCP
        {{- end }}
    - to:
        - namespaceSelector:
            matchLabels:
              kubernetes.io/metadata.name: kube-system
          podSelector:
            matchLabels:
              k8s-app: kube-dns
    {{- /* None at all without ports, as that would let out everything. */}}
    {{- with $calls.ports }}
    - ports:
        {{- range . }}
        - port: {{ . }}
          protocol: TCP
        {{- end }}
    {{- end }}
    {{- range $calls.services }}
    {{- /* Behind the Service the port of its pods counts. */}}
    - ports:
        - port: {{ include "gatehouse.podPort" . }}
          protocol: TCP
      to:
        - podSelector:
            matchLabels:
              {{- include "gatehouse.selectorLabels" (dict "root" $.root "service" .) | nindent 14 }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}
