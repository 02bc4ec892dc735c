# ascpo on the host's cores. docs/how-to/install.md says how to use it.
FROM python:3.11-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /dist .

FROM python:3.11-slim
# OpenGL without a screen, for pictures and videos.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libegl1 libopengl0 libgl1-mesa-dri \
 && rm -rf /var/lib/apt/lists/*
ENV MUJOCO_GL=egl
COPY --from=wheel /dist /dist
RUN pip install --no-cache-dir "$(echo /dist/ascpo-*.whl)[video]" && rm -rf /dist
# Any user may run it (docker run --user): compiled programs are kept at home.
RUN useradd --create-home ascpo && mkdir -p /work/runs && chown -R ascpo /work && chmod 1777 /home/ascpo
ENV HOME=/home/ascpo
USER ascpo
WORKDIR /work
VOLUME /work/runs
ENTRYPOINT ["ascpo"]
CMD ["--help"]
