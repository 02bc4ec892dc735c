# ascpo on the host's cores. Not built yet: there was no Docker where this was written.
#   docker build --tag ascpo .
#   docker run --rm --volume "$PWD/runs:/work/runs" ascpo train --env Point-1-Hazard --total-steps 1.5e6
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
RUN useradd --create-home ascpo && mkdir -p /work/runs && chown -R ascpo /work
USER ascpo
WORKDIR /work
VOLUME /work/runs
ENTRYPOINT ["ascpo"]
CMD ["--help"]
