{{/* A Service. Takes root, service and values. */}}
{{- define "gatehouse.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "gatehouse.metadata" . | nindent 2 }}
  {{- with .values.service.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ .values.service.type }}
  selector:
    {{- include "gatehouse.selectorLabels" . | nindent 4 }}
  ports:
    - name: http
      port: {{ .values.service.port }}
      targetPort: http
      protocol: TCP
{{- end }}

{{/*
An Ingress. Takes root, service, values, ingress and annotations. `--set ingress.hosts[0].host=` replaces the list, so
whatever an element may lack is made up here.
*/}}
{{- define "gatehouse.ingress" -}}
{{- $name := include "gatehouse.serviceName" . }}
{{- $port := .values.service.port }}
{{- $paths := .ingress.paths }}
{{- $hosts := list }}
{{- range .ingress.hosts }}
{{- $hosts = append $hosts .host }}
{{- end }}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  {{- include "gatehouse.metadata" . | nindent 2 }}
  {{- with merge dict .ingress.annotations .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .ingress.className }}
  ingressClassName: {{ . | quote }}
  {{- end }}
  {{- with .ingress.tls }}
  tls:
    {{- range $at, $tls := . }}
    - hosts:
        {{- toYaml ($tls.hosts | default $hosts) | nindent 8 }}
      secretName: {{ $tls.secretName | default (printf "%s-tls%s" $name (ternary "" (printf "-%d" $at) (eq $at 0))) | quote }}
    {{- end }}
  {{- end }}
  rules:
    {{- range $hosts }}
    - host: {{ . | quote }}
      http:
        paths:
          {{- range $paths }}
          - path: {{ . | quote }}
            pathType: Prefix
            backend:
              service:
                name: {{ $name }}
                port:
                  number: {{ $port }}
          {{- end }}
    {{- end }}
{{- end }}
