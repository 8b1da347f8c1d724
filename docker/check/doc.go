// Package check holds the files in docker/ against the parsers of those who will read them, and
// carries out the steps of the Dockerfile without a container engine. It is tests only.
package check
