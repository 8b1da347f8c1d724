#!/usr/bin/env bash
# Makes the secrets of a deployment: an authority, certificates of zero, alpha and sidecar, and random
# keys. What is there already stays.
#   docker/secrets.sh FOLDER [NAME...]     NAMEs are other names of the sidecar, for its certificate
set -euo pipefail
folder=${1:?usage: docker/secrets.sh FOLDER [NAME...]}
shift
command -v openssl >/dev/null || { echo "secrets.sh: openssl is not on PATH; install it" >&2; exit 1; }
umask 077
mkdir -p "$folder"
cd "$folder"

[[ -f ca.key ]] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
	-subj "/CN=dgraph-evorag authority" -keyout ca.key -out ca.crt 2>/dev/null

# certificate NAME HOST...: for servers and clients alike; zero and alpha are both.
certificate() {
	local name=$1 hosts
	[[ ! -f $name.crt ]] || return 0
	hosts=$(printf ',DNS:%s' "$@")
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" -keyout "$name.key" -out "$name.csr" 2>/dev/null
	openssl x509 -req -in "$name.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 825 -out "$name.crt" \
		-extfile <(printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "${hosts#,}") 2>/dev/null
	rm "$name.csr"
}
certificate zero localhost zero-0.zero zero-1.zero zero-2.zero
certificate alpha localhost alpha-0.alpha alpha-1.alpha alpha-2.alpha
certificate sidecar localhost "$@"

random() { head -c "$1" /dev/urandom | base64 -w0; }
[[ -f acl.key ]] || random 24 >acl.key # 32 characters: HMAC-SHA256
[[ -f retrieval.key ]] || random 32 >retrieval.key
[[ -f access.token ]] || random 32 >access.token
[[ -f webhook.secret ]] || echo "whsec_$(random 32)" >webhook.secret
[[ -f login.password ]] || printf password >login.password # Dgraph's own for groot, to be changed
# Compose mounts the files as they are, and the containers run as user 65532.
[[ $EUID != 0 ]] || chown 65532:65532 ./*
echo "the secrets are in $folder; ca.key is not needed to run: put it away"
