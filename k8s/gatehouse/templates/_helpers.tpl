{{- define "gatehouse.name" -}}
{{- .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* Names of objects leave space for `-gateway-xxxxxxxxxx-xxxxx` behind this. Those of Services have no dots. */}}
{{- define "gatehouse.fullname" -}}
{{- $name := include "gatehouse.name" . }}
{{- $own := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- $full := .Values.fullnameOverride | default $own }}
{{- /* Two long names may differ at their ends only. */}}
{{- $short := printf "%s-%s" (trunc 33 $full | trimSuffix "-") (sha256sum $full | trunc 6) }}
{{- ternary $short $full (gt (len $full) 40) | replace "." "-" }}
{{- end }}

{{/* The name of a service's objects. Takes root and service. */}}
{{- define "gatehouse.serviceName" -}}
{{- printf "%s-%s" (include "gatehouse.fullname" .root) .service }}
{{- end }}

{{- define "gatehouse.selectorLabels" -}}
app.kubernetes.io/name: {{ include "gatehouse.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .service }}
{{- end }}

{{- define "gatehouse.labels" -}}
{{ include "gatehouse.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "gatehouse.metadata" -}}
name: {{ include "gatehouse.serviceName" . }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- include "gatehouse.labels" . | nindent 2 }}
{{- end }}

{{- define "gatehouse.serviceAccountName" -}}
{{- $own := ternary (include "gatehouse.fullname" .) "default" .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default $own }}
{{- end }}

{{- define "gatehouse.image" -}}
{{- $image := .root.Values.image }}
{{- $name := printf "%s:%s" (get $image.repositories .service) ($image.tag | default .root.Chart.AppVersion) }}
{{- if $image.registry }}{{ trimSuffix "/" $image.registry }}/{{ end }}{{ $name }}
{{- end }}

{{/* The Secret of the gateway. */}}
{{- define "gatehouse.secretName" -}}
{{- ternary (include "gatehouse.serviceName" (dict "root" . "service" "gateway")) .Values.secrets.existingSecret .Values.secrets.create }}
{{- end }}

{{/* Whether the gateway is given backend keys: always for the cloud, and for a server of one's own if that is set. */}}
{{- define "gatehouse.hasBackendKeys" -}}
{{- if or (not .Values.backend.baseUrl) .Values.backend.sendKeys }}true{{ end }}
{{- end }}

{{- define "gatehouse.isScaled" -}}
{{- if or .Values.gateway.autoscaling.enabled (gt (int .Values.gateway.replicaCount) 1) }}true{{ end }}
{{- end }}

{{- define "gatehouse.agentUrl" -}}
{{- $own := printf "http://%s:%v" (include "gatehouse.serviceName" (dict "root" . "service" "agent")) .Values.agent.service.port }}
{{- .Values.bridge.agent.baseUrl | default $own }}
{{- end }}

{{/* Where the console finds a service: at the given address, or the service of this chart. Takes root, service and url. */}}
{{- define "gatehouse.consoleUrl" -}}
{{- $values := get .root.Values .service }}
{{- if .url }}{{ .url }}{{ else if $values.enabled }}{{ printf "http://%s:%v" (include "gatehouse.serviceName" .) $values.service.port }}{{ end }}
{{- end }}

{{/* The text of agent.json. */}}
{{- define "gatehouse.agentConfig" -}}
{{- $file := ternary "files/agent-relay.json" "files/agent.json" .Values.agent.relay.enabled }}
{{- .Values.agent.config | default (.Files.Get $file) | trim }}
{{- end }}

{{/* An amount such as 5Gi as a number. */}}
{{- define "gatehouse.bytes" -}}
{{- $unit := regexFind "[A-Za-z]*$" . }}
{{- $bytes := trimSuffix $unit . | float64 }}
{{- range until (get (dict "k" 1 "K" 1 "M" 2 "G" 3 "T" 4 "P" 5 "E" 6) (trimSuffix "i" $unit) | int) }}
{{- $bytes = mulf $bytes (ternary 1024 1000 (hasSuffix "i" $unit)) }}
{{- end }}
{{- $bytes }}
{{- end }}

{{/* Whether the agent keeps something on a disk: its sessions, or relay admin's journal. Then there is one of it. */}}
{{- define "gatehouse.agentHasDisk" -}}
{{- if or (not .Values.agent.database.existingSecret) .Values.agent.relay.enabled }}true{{ end }}
{{- end }}
