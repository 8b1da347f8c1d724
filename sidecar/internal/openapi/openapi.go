// Package openapi holds the OpenAPI document of the services under /evorag. Tests hold it
// against the route table and against what the services really take and answer.
package openapi

import _ "embed" // the document

// Document is openapi.json, OpenAPI 3.1.
//
//go:embed openapi.json
var Document []byte
