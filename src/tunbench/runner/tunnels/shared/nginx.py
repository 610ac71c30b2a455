"""The configuration of an nginx of a node's own: all that it writes lies in one folder."""

from pathlib import Path

CONFIGURATION = """\
daemon off;
user root;
worker_processes 1;
pid {folder}/nginx.pid;
events {{
    worker_connections 2048;
}}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{http}}}
"""


def configuration(folder: Path, http: str) -> str:
    """The text of nginx.conf, with the lines of its block `http`."""
    return CONFIGURATION.format(folder=folder, http=http)
