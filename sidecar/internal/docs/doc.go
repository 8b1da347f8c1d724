// Package docs holds tests only: every command in the documentation runs, and shows what the
// page says it shows.
package docs
